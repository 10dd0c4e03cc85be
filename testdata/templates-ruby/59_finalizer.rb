o = Object.new
ObjectSpace.define_finalizer(o, proc { puts "at the end" })
puts "last"
