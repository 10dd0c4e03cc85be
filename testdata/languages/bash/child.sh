env echo 'from a child'
