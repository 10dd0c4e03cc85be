begin; Process.kill "TERM", $$; sleep 5; rescue SignalException => e; p e.signo, e.message; end
