#!/usr/bin/env bash
# The release notes of v1.2: written from its commits, its links checked, saved once a person has
# said yes; then those of v1.3, in which a link leads nowhere, so that nothing is saved.
source "$(dirname "${BASH_SOURCE[0]}")/stage.sh"

say "the servers say of their tools what is pinned"
provost tools diff

say "the notes of v1.2: saving asks"
provost run "Write the release notes of v1.2 since v1.1" >"$scratch/out" 2>&1 && die "it did not wait"
cat "$scratch/out"

say "a person says yes"
provost approve "$(card_of "$scratch/out")"
diff expected.txt "$scratch/published/v1.2.md" || die "these are other notes"

say "the notes of v1.3: a link leads nowhere"
commit "feat: sort, see [sorting](docs/sorting.md)"
git -C "$scratch/repo" tag v1.3
provost run "Write the release notes of v1.3 since v1.2" && die "nobody noticed"
[[ ! -e $scratch/published/v1.3.md ]] || die "they were saved"

say "v1.2.md stands in the folder word for word, v1.3.md does not"
