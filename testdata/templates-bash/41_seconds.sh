echo $SECONDS $((EPOCHSECONDS - $(date +%s)))
SECONDS=10
echo $SECONDS
