<?php
// Runs each tool of the image on a small input, and prints "ok NAME" if it worked.
function tool(array $argv, int $exitCode, string $says): void
{
    $process = proc_open($argv, [1 => ['pipe', 'w'], 2 => ['redirect', 1]], $pipes);
    $said = stream_get_contents($pipes[1]);
    $code = proc_close($process);
    if ($code !== $exitCode || !str_contains($said, $says)) {
        throw new RuntimeException(implode(' ', $argv) . ": $code\n$said");
    }
}

$dir = sys_get_temp_dir() . '/tools';
mkdir($dir);
chdir($dir);

$test = "<?php\nclass %sTest extends PHPUnit\\Framework\\TestCase\n{\n    public function testAdds(): void\n    {\n        \$this->assertSame(%d, 1 + 1);\n    }\n}\n";
mkdir('tests');
file_put_contents('tests/RightTest.php', sprintf($test, 'Right', 2));
file_put_contents('tests/WrongTest.php', sprintf($test, 'Wrong', 3));
tool(['phpunit', '--do-not-cache-result', 'tests'], 1, 'Tests: 2, Assertions: 2, Failures: 1');
echo "ok phpunit\n";

mkdir('src');
file_put_contents('src/Greeter.php', "<?php\nnamespace App;\n\nclass Greeter\n{\n    const TEXT = 'found';\n}\n");
file_put_contents('composer.json', '{"name": "a/b", "description": "c", "license": "MIT", "autoload": {"psr-4": {"App\\\\": "src/"}}}');
tool(['composer', 'validate', '--no-interaction'], 0, 'is valid');
tool(['composer', 'install', '--no-interaction'], 0, 'Generating autoload files');
require 'vendor/autoload.php';
if (App\Greeter::TEXT === 'found') {
    echo "ok composer\n";
}
