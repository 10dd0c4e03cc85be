garbage before the program
#!/usr/bin/ruby
puts "with -x only"
