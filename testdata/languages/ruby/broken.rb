puts 'never printed'

x = = 1
