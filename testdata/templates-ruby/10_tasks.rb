p Dir.children("/proc/self/task").size, Thread.list.size, Thread.main == Thread.current
p Dir.children("/proc/self/task").map { |t| File.read("/proc/self/task/#{t}/comm") }.sort
