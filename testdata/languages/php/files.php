<?php
function must($x, $what) { if (!$x) { fwrite(STDERR, "$what\n"); exit(1); } }
must(file_put_contents('a.txt', 'hello', LOCK_EX) === 5, 'lock');
must(file_put_contents('a.txt', ', world', FILE_APPEND | LOCK_EX) === 7, 'append');
must(rename('a.txt', 'b.txt') && mkdir('d/e', 0755, true) && copy('b.txt', 'd/b.txt'), 'rename');
must(symlink('b.txt', 'd/soft') && link('b.txt', 'd/hard') && readlink('d/soft') === 'b.txt', 'links');
must(touch('b.txt', 2) && filemtime('b.txt') === 2 && chmod('b.txt', 0640) && touch('new') && unlink('new'), 'touch');
$f = fopen('b.txt', 'r+');
must(flock($f, LOCK_EX) && ftruncate($f, 5) && fsync($f) && fdatasync($f) && flock($f, LOCK_UN) && fclose($f), 'truncate');
must(count(scandir('d')) === 6 && count(glob('d/*')) === 4, 'list');
must(chdir('d') && getcwd() === '/box/d' && file_get_contents('soft') === 'hello, world' && chdir('..'), 'chdir');
must(disk_free_space('.') > 0 && is_writable('b.txt') && umask() === 022, 'space');
$t = tempnam('/tmp', 'x');
must($t && unlink($t) && unlink('b.txt'), 'temp');
foreach (glob('d/*') as $name) must(is_dir($name) ? rmdir($name) : unlink($name), $name);
must(rmdir('d') && !file_exists('d'), 'remove');
echo "files ok\n";
