puts "helper #{__FILE__ == $0} #{File.basename(__FILE__)}"
def helper(x) = "helped #{x} #{caller.first}"
