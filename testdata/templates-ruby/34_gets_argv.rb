begin; gets; rescue => e; puts e.class, e.message; end
