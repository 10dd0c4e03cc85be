echo 'from a child' | sh -c 'cat'
