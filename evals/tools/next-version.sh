#!/bin/sh
# The version after $1 for the commit subjects on stdin: a BREAKING one raises the major number, an "Add" the minor one.
set -eu

major=${1%%.*}
rest=${1#*.}
minor=${rest%%.*}
patch=${rest#*.}
change=patch
while read -r subject; do
  case $subject in
    *BREAKING*) change=major ;;
    Add*) [ "$change" = major ] || change=minor ;;
  esac
done
case $change in
  major) echo "$((major + 1)).0.0" ;;
  minor) echo "$major.$((minor + 1)).0" ;;
  patch) echo "$major.$minor.$((patch + 1))" ;;
esac
