# The driver of a Bash kernel: it executes cells, and keeps their variables, functions and directory. It is executed with
# bash -c, and needs Bash 5. It reads requests from descriptor 3 and writes events to descriptor 4, as kernel.py does, and
# like there whoever runs code here can change all of it.
#
# It reads no JSON but in the form in which the service writes it: names in one order, and code last.
#
# Only an interactive shell leaves all that it executes when it gets a SIGINT, and lives on. So this is one, and the driver
# is what it executes before each prompt.

__brig_status=$? # of a cell that a SIGINT has ended

if [[ $- != *i* ]]; then
  if [[ -n ${1-} ]]; then
    cd -- "$1" || exit
  fi
  __brig_driver=$BASH_EXECUTION_STRING PROMPT_COMMAND='eval "$__brig_driver"' PS1='' exec "$BASH" --norc --noprofile --noediting -i </dev/null
fi

__brig_json() { # sets REPLY to a text as JSON
  local text=$1 i c code out=
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  text=${text//$'\n'/\\n}
  text=${text//$'\t'/\\t}
  text=${text//$'\r'/\\r}
  if [[ $text == *[$'\x01'-$'\x1f']* ]]; then
    for ((i = 0; i < ${#text}; i++)); do
      c=${text:i:1}
      if [[ $c == [$'\x01'-$'\x1f'] ]]; then
        printf -v code '%d' "'$c"
        printf -v c '\\u%04x' "$code"
      fi
      out+=$c
    done
    text=$out
  fi
  REPLY="\"$text\""
}

__brig_send() {
  local LC_ALL=C
  printf '%d\n%s' "${#1}" "$1" >&"$__brig_out"
}

__brig_error() { # name, value
  local name value
  __brig_json "$1"
  name=$REPLY
  __brig_json "$2"
  value=$REPLY
  __brig_send "{\"type\":\"error\",\"name\":$name,\"value\":$value,\"traceback\":[]}"
}

display() { # text or standard input; display -m image/png FILE shows a file
  local mime=text/plain data
  if [[ ${1-} == -m ]]; then
    mime=$2
    data=$(base64 -w 0 -- "$3") || return
  elif (($# > 0)); then
    data=$*
  else
    data=$(cat)
  fi
  local kind
  __brig_json "$mime"
  kind=$REPLY
  __brig_json "$data"
  __brig_send "{\"type\":\"display\",\"data\":{$kind:$REPLY},\"metadata\":{}}"
}

__brig_text() { # sets REPLY to the text that is so in JSON: $'' has the same escapes
  local quoted=${1//\'/\\\'}
  eval "REPLY=\$'$quoted'"
}

__brig_parse() {
  local body=$1 code env name value
  __brig_cell=${body#*'"cell":'}
  __brig_cell=${__brig_cell%%,*}
  code=${body#*',"code":"'}
  __brig_text "${code%'"}'}"
  __brig_code=$REPLY
  env=${body#*'"env":{'}
  env=${env%%'},"code":"'*}
  __brig_env=()
  while [[ $env =~ ^,?\"(([^\"\\]|\\.)*)\":\"(([^\"\\]|\\.)*)\" ]]; do
    env=${env:${#BASH_REMATCH[0]}}
    value=${BASH_REMATCH[3]}
    __brig_text "${BASH_REMATCH[1]}"
    name=$REPLY
    __brig_text "$value"
    value=$REPLY
    [[ $name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || continue
    if [[ -v $name ]]; then
      __brig_env+=("export $name=${!name@Q}")
    else
      __brig_env+=("unset $name")
    fi
    export "$name=$value"
  done
}

__brig_deaf() { # a SIGINT between cells is no cell's, and would tear the request that is being read
  __brig_int=$(trap -p INT) # of the cells
  trap '' INT
}

__brig_next() { # waits for a cell
  local size body
  [[ -z $__brig_cell ]] || __brig_done 0
  IFS= read -r size <&"$__brig_in" || return
  LC_ALL=C IFS= read -r -N "$size" body <&"$__brig_in" || return
  __brig_parse "$body"
  eval "${__brig_int:-trap - INT}"
}

__brig_done() { # exit status
  local status=ok line
  __brig_deaf
  if (($1 == 130)); then
    status=interrupted
    __brig_error Interrupted 'the cell was interrupted'
  elif (($1 != 0)); then
    status=error
    __brig_error ExitStatus "$1"
  fi
  for line in "${__brig_env[@]}"; do
    eval "$line"
  done
  __brig_env=()
  line=$__brig_cell
  __brig_cell=
  __brig_send "{\"type\":\"done\",\"cell\":$line,\"status\":\"$status\"}"
}

if [[ -z ${__brig_in-} ]]; then
  export -n __brig_driver PROMPT_COMMAND PS1
  set +H +m -o ignoreeof
  exec {__brig_in}<&3 {__brig_out}>&4 3<&- 4>&- # Bash has no close-on-exec: children of cells inherit them
  __brig_cell=''
  __brig_env=()
  __brig_deaf
  __brig_send '{"type":"ready"}'
elif [[ -n $__brig_cell ]]; then # the cell has left the loop below: by a SIGINT, or by break
  __brig_done "$__brig_status"
fi

# No function executes a cell, so that what it declares is global. break and continue of a cell reach these loops.
while :; do
  while __brig_next; do
    eval "$__brig_code"
    __brig_done $?
  done
  [[ -n $__brig_cell ]] || exit 0
done
