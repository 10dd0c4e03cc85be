echo before
if true; then
  echo )
fi
