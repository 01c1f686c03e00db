# Sourced by demo.sh: builds, installs the servers, copies the workspace into a scratch folder and
# makes a repository there whose commits have the same names on every machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

cargo build --quiet --profile "${PROVOST_PROFILE:-dev}" --workspace --bin provost
target=$(cargo metadata --no-deps --format-version 1 |
  sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
servers=$target/mcp-servers
if [[ ! -x $servers/venv/bin/mcp-server-git || ! -x $servers/node_modules/.bin/mcp-server-filesystem ]]; then
  mkdir -p "$servers"
  npm install --prefix "$servers" --no-audit --no-fund --silent \
    @modelcontextprotocol/server-filesystem@2026.8.31
  python3 -m venv "$servers/venv"
  "$servers/venv/bin/pip" install --quiet --disable-pip-version-check mcp-server-git==2026.10.19
fi
export PATH="$servers/venv/bin:$servers/node_modules/.bin:$PATH"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say() { printf '\n== %s\n' "$*"; }
die() { echo "error: $*" >&2; exit 1; }
provost() { "$target/debug/provost" -C "$scratch" "$@" </dev/null; }
# RUN@DIGEST of the approval that a run printed.
card_of() { grep -o 'approve [a-z2-7]\{12\}@[^ `]*' "$1" | head -n 1 | cut -d ' ' -f 2; }

commit() { # MESSAGE
  GIT_AUTHOR_DATE="2026-03-01T12:00:00Z" GIT_COMMITTER_DATE="2026-03-01T12:00:00Z" \
    git -C "$scratch/repo" -c user.name=Ada -c user.email=ada@example.org \
    commit --quiet --allow-empty --message "$1"
}
cp -r provost.toml provost.lock policies playbooks schemas bin "$scratch/"
mkdir -p "$scratch/repo/docs" "$scratch/published"
git -C "$scratch/repo" init --quiet --initial-branch main
echo "How to move" >"$scratch/repo/docs/moving.md"
git -C "$scratch/repo" add docs
commit "feat: read the first file"
git -C "$scratch/repo" tag v1.1
commit "fix: keep the last line of a file without a newline"
commit "feat: write more than one file at once, see [moving](docs/moving.md)"
commit "docs: say how to move from version 1.1"
commit "update what is built on"
git -C "$scratch/repo" tag v1.2
