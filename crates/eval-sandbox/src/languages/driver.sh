# Sources the candidate's script, then runs tests in the same shell. Descriptor 3 holds a token, a mode, a set-up and the
# tests; verdicts go to descriptor 4, each behind the token. A script that merely ends early is caught; one that reads
# descriptor 3 or waits for the tests is not, and the grade says so.
if ! _why=$("$BASH" -n ./solution.sh 2>&1); then
  IFS= read -r -u 3 _token
  printf '%s {"verdict":"syntax"}\t%s\n' "$_token" "${_why//$'\n'/ }" >&4
  exit 0
fi
. ./solution.sh
# Posix mode, which an assignment switches on, finds special builtins before functions of the same name and ends the shell
# where a constant would be set. `if` alone leads to a verdict: a script could have replaced any command that leaves.
POSIXLY_CORRECT=y
PATH=/usr/local/bin:/usr/bin:/bin
if {
  [[ -o posix ]] &&
  unset -f read printf eval exit trap set return test '[' '[[' true false echo command builtin source cd local unset export \
    declare typeset readonly let shift wait kill exec enable hash unalias shopt mapfile command_not_found_handle &&
  enable read printf eval exit trap set return test '[' true false echo command builtin source cd local unset export \
    declare typeset readonly let shift wait kill exec enable hash unalias shopt mapfile &&
  hash -r && trap - DEBUG ERR RETURN EXIT CHLD && unalias -a && unset POSIXLY_CORRECT && shopt -u extdebug expand_aliases
} 2>/dev/null; then
set +eEufvx
IFS=$' \t\n'
# A constant of the same name is not read into.
if IFS= read -r -u 3 _token && IFS= read -r -u 3 _mode && IFS= read -r -u 3 _entry && IFS= read -r -d '' -u 3 _setup; then
_tests=() _newline=$'\n'
while IFS= read -r -d '' -u 3 _test; do _tests+=("$_test"); done
exec 3<&-
# What tests compare with must not be the script's own, unless that is what they test.
if shopt -q nocasematch; then
  printf '%s {"verdict":"unsound"}\tthe code sets `nocasematch`, which changes how tests compare\n' "$_token" >&4
  exit 0
fi
for _tool in awk bc cat cmp comm cut diff egrep expr fgrep find grep head jq ls md5sum sed sha256sum sort stat tail tr uniq wc; do
  if [[ $_tool != "$_entry" && " $_setup ${_tests[*]} " =~ [^a-zA-Z0-9_]$_tool[^a-zA-Z0-9_] ]] && declare -F "$_tool" >/dev/null; then
    printf '%s {"verdict":"unsound"}\tthe code defines `%s`, which they call; if it is what they test, say `entry_point: %s`\n' \
      "$_token" "$_tool" "$_tool" >&4
    exit 0
  fi
done
eval "$_setup"
_index=0
for _test in "${_tests[@]}"; do
  if [ "$_mode" = asserts ]; then
    # A subshell: what one element sets, or leaves, does not reach the next. Each of its commands must succeed. `&&` and
    # `!` do not raise ERR, so that complete commands run one by one. A line whose first command reads `$?` runs with the
    # line before it, and commands before `$?` may fail. Functions of the script do not inherit the trap.
    ( _rest=$_test$_newline _chunk= _said= _reads='*@($\?|${\?}|PIPESTATUS)*'
      if [[ $_test == *"$_newline"* ]]; then _said='${_chunk//$_newline/ }'; fi
      _fails='_status=$?; printf "%s {\"line\":1}\t%s\n" "$_token" "'$_said'" >&4; exit "$_status"'
      trap "$_fails" ERR
      while [ -n "$_rest" ]; do
        _chunk+=${_rest%%"$_newline"*} _rest=${_rest#*"$_newline"} _next=${_rest%%"$_newline"*}
        if [ -n "$_rest" ] && [[ $_chunk == *\\ || ${_next%%[;&|]*} == $_reads ||
          -n $( { eval "set -n$_newline$_chunk"; } 2>&1 ) ]]; then
          _chunk+=$_newline
        else
          if [[ $_chunk == $_reads ]]; then eval "$_chunk" || eval "$_fails"; else eval "$_chunk"; fi
          _chunk=
        fi
      done
      printf '%s {"held":1}\n' "$_token" >&4 )
    _status=$?
  else
    ( set -eE
      trap 'printf "%s {\"line\":1}\t%s\n" "$_token" "${BASH_COMMAND//$_newline/ }" >&4' ERR
      eval "$_test"
      printf '%s {"held":1}\n' "$_token" >&4 )
    _status=$?
  fi
  if [ "$_status" != 0 ]; then
    printf '%s {"verdict":"failed","index":%d,"status":%d}\n' "$_token" "$_index" "$_status" >&4
    exit 0
  fi
  _index=$((_index + 1))
done
printf '%s {"verdict":"passed","held":%d}\n' "$_token" "$_index" >&4
exit 0
fi
fi
