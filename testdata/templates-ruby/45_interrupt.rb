begin; Process.kill "INT", $$; sleep 5; rescue Interrupt => e; puts e.class, e.message.inspect; end
Process.kill "INT", $$
sleep 5
