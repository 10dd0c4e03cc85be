$0 = "another name"
puts File.read("/proc/self/cmdline").sub(/\0+\z/, ""), File.read("/proc/self/comm"), $0
puts ENV["PATH"], `echo $PATH`
Process.setproctitle("third")
puts File.read("/proc/self/cmdline").sub(/\0+\z/, ""), $0
$0 = "x" * 500
puts File.read("/proc/self/cmdline").size > 20, ENV["NAME"]
