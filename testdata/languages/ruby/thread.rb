Thread.new { puts 'from a thread' }.join
