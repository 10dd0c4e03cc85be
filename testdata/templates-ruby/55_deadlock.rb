Thread.new { Thread.stop }
Thread.main.join rescue p $!.class
Queue.new.pop
