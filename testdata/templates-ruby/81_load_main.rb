p TOPLEVEL_BINDING.receiver.to_s, self.class, method(:p).owner, binding.source_location, __FILE__ == $0
puts "main" if __FILE__ == $PROGRAM_NAME
