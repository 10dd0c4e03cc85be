require 'open3'

out, status = Open3.capture2('echo', 'from a child')
raise status.to_s unless status.success?

print out
