p File.readlink("/proc/self/exe")
