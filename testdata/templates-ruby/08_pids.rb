p Process.pid == $$, File.read("/proc/self/stat").to_i == $$, Process.ppid == File.read("/proc/self/status")[/PPid:\s+(\d+)/, 1].to_i, Thread.main.native_thread_id == $$
