echo before
while true; do
