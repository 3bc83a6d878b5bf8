//! The peer of the validation bench: loads every package directory below the
//! one named and counts what loaded, with no report at all.

fn main() {
    let root = std::env::args_os().nth(1).expect("a directory of packages");
    let mut loaded = (0, 0, 0);
    let mut packages: Vec<_> = std::fs::read_dir(root).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    packages.sort();
    for package in packages {
        if let Ok(plugin) = agent_plugins::load_dir(&package) {
            loaded.0 += 1;
            loaded.1 += plugin.skills.len();
            if let agent_plugins::McpOutcome::Configured(mcp) = &plugin.mcp {
                loaded.2 += mcp.servers.len();
            }
        }
    }
    println!("{} packages, {} skills, {} servers", loaded.0, loaded.1, loaded.2);
}
