puts 'before'
raise 'boom'
