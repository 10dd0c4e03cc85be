p Dir.children("/proc/self/fd").map(&:to_i).sort, File.open(__FILE__).fileno, IO.pipe.map(&:fileno)
p Dir.children("/proc/self/fd").map { |f| File.readlink("/proc/self/fd/#{f}").sub(/\d+/, "") rescue "closed" }.sort.reject { |x| x.start_with?("/") }
