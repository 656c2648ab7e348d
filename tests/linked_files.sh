#!/usr/bin/env bash
# Prints the files outside docs/ that its pages link to, but for examples of one screen, which are installed anyway: by
# their paths from the root, where this runs.
grep -rohE --include='*.md' '\]\([^():# ]+' docs | sed 's/](//' | while read -r link; do
  # The pages stand in docs/ and docs/design/: a link that leaves docs/ begins with the way up.
  path=$(sed -E 's|^(\.\./)+||' <<<"$link")
  if [[ $link == ../* && -f $path ]]; then echo "$path"; fi
done | grep -vE '^examples/[^/]+\.cpp$' | sort -u
