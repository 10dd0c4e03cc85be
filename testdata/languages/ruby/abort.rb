Process.kill(:ABRT, Process.pid)
sleep 1
