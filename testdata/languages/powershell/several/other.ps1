$text = 'from another file'
