p Time.now - File.mtime(__FILE__) < 5, Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < 2, Time.at(0).utc, Time.now.zone
p Process.times.class, Time.new(2000, 1, 1).to_a
