echo "json $(jq add <<<'[1,2]')"
[[ 'the year 2026 in a text' =~ [0-9]{4} ]] && echo "regex ${BASH_REMATCH[0]}"
echo "big $(bc <<<'2^100')"
echo "zone $(TZ=Asia/Tokyo date -d '2026-01-01 12:00 UTC' +%H:%M)"
((RANDOM >= 0 && SRANDOM >= 0)) && echo 'random ok'
file=$(mktemp)
echo 'temp ok' >"$file"
cat "$file"
