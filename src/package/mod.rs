//! Loading a package the way a conforming client does, with every finding.

mod report;

pub use report::{
    Mcp, McpState, Package, Report, Server, Skill, Skills, SkillsState, SkippedSkill, Summary,
    Transport, Verdict,
};
