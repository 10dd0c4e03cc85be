require 'fileutils'
require 'tmpdir'
File.write('a.txt', 'hello')
File.open('a.txt', 'a') { |f| f.write(', world'); f.fsync; f.fdatasync; f.flock(File::LOCK_EX) }
File.rename('a.txt', 'b.txt')
FileUtils.mkdir_p('d/e')
FileUtils.cp('b.txt', 'd/b.txt')
File.symlink('b.txt', 'd/soft')
File.link('b.txt', 'd/hard')
File.truncate('d/b.txt', 5)
File.open('b.txt', 'r+') { |f| f.truncate(5) }
File.chmod(0o640, 'b.txt')
File.utime(1, 2, 'b.txt')
File.mkfifo('d/queue')
raise 'stat' unless File.mtime('b.txt').to_i == 2 && File.lstat('d/soft').symlink? && File.readlink('d/soft') == 'b.txt'
raise 'list' unless Dir.children('d').sort == %w[b.txt e hard queue soft] && Dir.glob('d/**/*').size == 5
Dir.chdir('d') { raise 'chdir' unless Dir.pwd == '/box/d' && File.read('soft') == 'hello' }
FileUtils.mv('b.txt', 'd/e/b.txt')
FileUtils.rm_r('d')
Dir.mktmpdir { |dir| File.write("#{dir}/x", 'x') }
raise 'left' if File.exist?('d')
puts 'files ok'
