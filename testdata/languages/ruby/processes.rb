require 'open3'
require 'socket'
require 'timeout'
raise 'system' unless system('exit 3') == false && $?.exitstatus == 3
raise 'backquotes' unless `echo piped` == "piped\n"
out, = Open3.capture2('cat', stdin_data: 'through')
raise 'open3' unless out == 'through'
pid = fork { exit!(7) }
raise 'fork' unless Process.wait2(pid)[1].exitstatus == 7
r, w = IO.pipe
fork { r.close; w.write('x'); exit!(0) }
w.close
raise 'pipe' unless r.read == 'x'
Process.wait
pid = spawn('sleep 9', pgroup: true)
Process.kill(:TERM, -pid)
raise 'kill' unless Process.wait2(pid)[1].termsig == 15
Signal.trap('USR1') { $came = true }
Process.kill('USR1', Process.pid)
sleep 0.01 until $came
a, b = UNIXSocket.pair
a.write('hello')
raise 'socket' unless b.recv(5) == 'hello' && b.wait_readable(0).nil? && a.getsockopt(:SOCKET, :TYPE).int == Socket::SOCK_STREAM
begin
  Timeout.timeout(0.05) { sleep 9 }
  raise 'timeout'
rescue Timeout::Error
  Thread.new { Thread.current.name = 'worker' }.join
end
puts 'processes ok'
