r, w = IO.pipe
r.close
begin; w.write "x"; rescue Errno::EPIPE => e; puts e.message; end
