require "open3"
p Open3.capture3("cat; echo err >&2; exit 3", stdin_data: "in").then { |o, e, s| [o, e, s.exitstatus] }
p IO.popen("tr a-z A-Z", "r+") { |i| i.write "up"; i.close_write; i.read }
p system("exit 2"), $?.exitstatus, system("nothing-here"), `kill -9 $$; :`.size, $?.termsig
spawn("echo spawned"); Process.wait
begin; `nothing-here`; rescue => e; puts e.class; end
