#!/usr/bin/env bash
# Runs the step of action.yml and the pre-commit hook the way their hosts do:
# the step from the YAML with its inputs as the host would set them, the hook
# with the real pre-commit (from PyPI) in a repository that uses this checkout.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${1:-${APKIT_PEERS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/apkit-peers}}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

venv=$cache/pre-commit
if [ ! -x "$venv/bin/pre-commit" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'pre-commit==4.*' 'PyYAML==6.*'
fi

fail() { echo "action.sh: $*" >&2; exit 1; }

# --- the action
mkdir -p "$work/repo/good/skills/note" "$work/repo/bad"
schema=https://agent-plugins.org/schemas/1.0.0/plugin.schema.json
printf '{ "$schema": "%s", "name": "good" }\n' "$schema" >"$work/repo/good/plugin.json"
printf -- '---\nname: note\ndescription: Takes a note. Use when asked to.\n---\n' >"$work/repo/good/skills/note/SKILL.md"
printf '{ "$schema": "%s", "name": "Not Valid" }\n' "$schema" >"$work/repo/bad/plugin.json"

# The step as the host would run it: env and run of the only step, every
# expression replaced by the input it names.
"$venv/bin/python" - "$root" "$work" <<'PY'
import os, re, shlex, sys, yaml
root, work = sys.argv[1:]
action = yaml.safe_load(open(os.path.join(root, "action.yml")))
assert action["runs"]["using"] == "composite"
(step,) = action["runs"]["steps"]
inputs = {name: spec.get("default", "") for name, spec in action["inputs"].items()}
inputs["sarif-file"] = os.path.join(work, "apkit.sarif")
inputs["apkit"] = os.environ.get("APKIT", "")
for spec in action["inputs"].values():
    assert spec["description"], "every input is documented"
def value(text):
    def one(match):
        kind, _, name = match.group(1).strip().partition(".")
        return {"inputs": lambda: str(inputs[name]), "github": lambda: root}[kind]()
    return re.sub(r"\$\{\{(.*?)\}\}", one, text)
with open(os.path.join(work, "step.sh"), "w") as script:
    for name, text in step["env"].items():
        script.write(f"export {name}={shlex.quote(value(text))}\n")
    script.write(step["run"] + "\n")
PY
status=0
(cd "$work/repo" && RUNNER_TOOL_CACHE=$cache/tools GITHUB_OUTPUT=$work/output bash -e "$work/step.sh") >"$work/annotations" 2>&1 || status=$?
[ "$status" -eq 1 ] || { cat "$work/annotations" >&2; fail "the action ended with $status, not 1"; }
grep -q '^::error file=bad/plugin.json,line=1,' "$work/annotations" || { cat "$work/annotations" >&2; fail "no annotation"; }
grep -q '^status=1$' "$work/output" || fail "the output status is not set"
"$venv/bin/python" -c 'import json,sys; assert json.load(open(sys.argv[1]))["runs"][0]["results"]' "$work/apkit.sarif"
# What goes wrong in the action itself is status 2, as its description says.
for wrong in APKIT_RECURSIVE=yes APKIT_PROGRAM=/no/such/apkit APKIT_PATHS=missing APKIT_SARIF_FILE=no/such/dir/x.sarif; do
    : >"$work/output"
    status=0
    (cd "$work/repo" && . <(sed 's/^bash .*//' "$work/step.sh") && export "$wrong" GITHUB_OUTPUT=$work/output \
        RUNNER_TOOL_CACHE=$cache/tools && bash "$root/.ci/action.sh") >/dev/null 2>&1 || status=$?
    [ "$status" -eq 2 ] || fail "$wrong: status $status, not 2"
    grep -q '^status=2$' "$work/output" || fail "$wrong: the output status is not 2"
done
echo "action.yml annotates and fails as it should"

# --- pre-commit
cd "$work/repo"
git init --quiet
git config user.name test
git config user.email test@example.invalid
cat >.pre-commit-config.yaml <<EOF
repos:
  - repo: $root
    rev: $(git -C "$root" rev-parse HEAD)
    hooks:
      - id: apkit-validate
EOF
git add .
status=0
PRE_COMMIT_HOME=$cache/pre-commit-home "$venv/bin/pre-commit" run --all-files >"$work/hook" 2>&1 || status=$?
[ "$status" -eq 1 ] || { cat "$work/hook" >&2; fail "the hook ended with $status, not 1"; }
grep -q 'manifest::name-invalid' "$work/hook" || { cat "$work/hook" >&2; fail "the hook does not show the finding"; }
git rm --quiet -rf --cached bad && rm -rf bad
PRE_COMMIT_HOME=$cache/pre-commit-home "$venv/bin/pre-commit" run --all-files >"$work/hook" 2>&1 || { cat "$work/hook" >&2; fail "the hook fails on a good package"; }
echo "the pre-commit hook fails on a bad package and passes a good one"
