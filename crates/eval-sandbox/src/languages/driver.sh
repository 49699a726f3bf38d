# Sources the candidate's script, then runs tests in the same shell. Descriptor 3 holds a token, a mode, a set-up and the
# tests; verdicts go to descriptor 4, each behind the token. A script that merely ends early is caught; one that reads
# descriptor 3 or waits for the tests is not, and the grade says so.
if ! _eh_why=$("$BASH" -n ./solution.sh 2>&1); then
  IFS= read -r -u 3 _eh_token
  printf '%s {"verdict":"syntax"}\t%s\n' "$_eh_token" "${_eh_why//$'\n'/ }" >&4
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
if IFS= read -r -u 3 _eh_token && IFS= read -r -u 3 _eh_mode && IFS= read -r -u 3 _eh_entry && IFS= read -r -d '' -u 3 _eh_setup; then
_eh_tests=() _eh_newline=$'\n'
while IFS= read -r -d '' -u 3 _eh_test; do _eh_tests+=("$_eh_test"); done
exec 3<&-
# What tests compare with must not be the script's own, unless that is what they test.
if shopt -q nocasematch; then
  printf '%s {"verdict":"unsound"}\tthe code sets `nocasematch`, which changes how tests compare\n' "$_eh_token" >&4
  exit 0
fi
for _eh_tool in awk bc cat cmp comm cut diff egrep expr fgrep find grep head jq ls md5sum sed sha256sum sort stat tail tr uniq wc; do
  if [[ $_eh_tool != "$_eh_entry" && " $_eh_setup ${_eh_tests[*]} " =~ [^a-zA-Z0-9_]$_eh_tool[^a-zA-Z0-9_] ]] && declare -F "$_eh_tool" >/dev/null; then
    printf '%s {"verdict":"unsound"}\tthe code defines `%s`, which they call; if it is what they test, say `entry_point: %s`\n' \
      "$_eh_token" "$_eh_tool" "$_eh_tool" >&4
    exit 0
  fi
done
eval "$_eh_setup"
_eh_index=0
for _eh_test in "${_eh_tests[@]}"; do
  if [ "$_eh_mode" = asserts ]; then
    # A subshell: what one element sets, or leaves, does not reach the next. Each of its commands must succeed. `&&` and
    # `!` do not raise ERR, so that commands run one by one: the element is cut at newlines and at `;`, where what is
    # before parses and is not in a comment or behind a backslash, so that `)` after it does not. A command that reads
    # `$?` first runs with the command before it, which may fail.
    ( _eh_names='reads rest chunk chunks program piece cut next said fails bad on_error on_command armed step check held'
      # A variable of the script that is a constant fails here, before `held`.
      for _eh_name in $_eh_names; do unset -n "_eh_$_eh_name" && unset "_eh_$_eh_name" || exit 1; done
      _eh_reads='*@(\$\?|\$\{\?\}|PIPESTATUS)*' _eh_rest=$_eh_test$_eh_newline _eh_chunk= _eh_chunks=() _eh_program=
      while [ -n "$_eh_rest" ]; do
        _eh_piece=${_eh_rest%%[;"$_eh_newline"]*} _eh_rest=${_eh_rest#"$_eh_piece"}
        _eh_cut=${_eh_rest:0:1} _eh_rest=${_eh_rest:1} _eh_chunk+=$_eh_piece
        _eh_next=$_eh_rest
        while [[ $_eh_next =~ ^[[:space:]]*(#[^$_eh_newline]*)?"$_eh_newline" ]]; do _eh_next=${_eh_next:${#BASH_REMATCH[0]}}; done
        if [ -n "$_eh_rest" ] && [[ $_eh_chunk == *\\ || ${_eh_next%%[;&|"$_eh_newline"]*} == $_eh_reads ||
          -n $( { eval "set -n$_eh_newline$_eh_chunk"; } 2>&1 ) ||
          $_eh_cut == ';' && -z $( { eval "set -n$_eh_newline$_eh_chunk)"; } 2>&1 ) ]]; then
          _eh_chunk+=$_eh_cut
        else
          _eh_chunks+=("$_eh_chunk") _eh_chunk=
        fi
      done
      # The program holds all it needs as text, since the code can set any variable and trap while it runs. ERR notes a
      # failure and DEBUG, before the next command, ends the element unless that command reads `$?`. Functions of the
      # script do not inherit the traps.
      for _eh_chunk in "${_eh_chunks[@]}"; do
        _eh_said=
        if [[ $_eh_test == *"$_eh_newline"* ]]; then _eh_said=${_eh_chunk//$_eh_newline/ }; fi
        printf -v _eh_fails 'printf "%%s {\\"line\\":1}\\t%%s\\n" %q %q >&4; POSIXLY_CORRECT=y; exit 1' "$_eh_token" "$_eh_said"
        _eh_bad=_eh_failed_$_eh_token
        _eh_on_error="case \$- in *e*) $_eh_fails ;; *) $_eh_bad=\$? ;; esac"
        printf -v _eh_on_command 'if [[ -n $%s && ( $%s != $? || ${BASH_COMMAND%%%%[;&|%s]*} != %s ) ]]; then %s; fi; %s=; trap %q ERR' \
          "$_eh_bad" "$_eh_bad" "\$'\\n'" "$_eh_reads" "$_eh_fails" "$_eh_bad" "$_eh_on_error"
        trap "$_eh_on_command" DEBUG; _eh_armed=$(trap -p DEBUG); trap - DEBUG
        printf -v _eh_step '%s=; trap %q ERR; trap %q DEBUG\neval %q\ncase $? in 0) ;; *) %s ;; esac\n' \
          "$_eh_bad" "$_eh_on_error" "$_eh_on_command" "$_eh_chunk" "$_eh_fails"
        printf -v _eh_check 'if [[ $(trap -p DEBUG) != %q ]]; then %s; fi\n' "$_eh_armed" "$_eh_fails"
        _eh_program+=$_eh_step$_eh_check
      done
      printf -v _eh_held 'trap - DEBUG ERR\nprintf "%%s {\\"held\\":1}\\n" %q >&4' "$_eh_token"
      eval "$_eh_program$_eh_held" )
    _eh_status=$?
  else
    ( set -eE
      trap 'printf "%s {\"line\":1}\t%s\n" "$_eh_token" "${BASH_COMMAND//$_eh_newline/ }" >&4' ERR
      eval "$_eh_test"
      printf '%s {"held":1}\n' "$_eh_token" >&4 )
    _eh_status=$?
  fi
  if [ "$_eh_status" != 0 ]; then
    printf '%s {"verdict":"failed","index":%d,"status":%d}\n' "$_eh_token" "$_eh_index" "$_eh_status" >&4
    exit 0
  fi
  _eh_index=$((_eh_index + 1))
done
printf '%s {"verdict":"passed","held":%d}\n' "$_eh_token" "$_eh_index" >&4
exit 0
fi
fi
