TEXT = 'from another file'
