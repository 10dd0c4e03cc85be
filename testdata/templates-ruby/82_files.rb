File.write("out.txt", "a\nb\n")
File.rename("out.txt", "new.txt")
p File.size("new.txt"), Dir.glob("*").sort, File.umask, Dir.pwd, File.expand_path("~"), Dir.home
File.symlink("new.txt", "link"); p File.readlink("link")
require "tmpdir"; p Dir.tmpdir, Dir.mktmpdir { |d| File.directory?(d) }
