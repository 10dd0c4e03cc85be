'before'
throw 'boom'
