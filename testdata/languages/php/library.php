<?php
echo 'json ' . array_sum(json_decode('[1,2]')) . "\n";
preg_match('/\d{4}/', 'the year 2026, I think', $found);
echo "regex $found[0]\n";
echo 'big ' . bcpow('2', '100') . "\n";
if ((string) gmp_pow(2, 100) !== bcpow('2', '100')) {
    echo "gmp and bcmath differ\n";
}
$noon = new DateTimeImmutable('2026-01-01 12:00', new DateTimeZone('UTC'));
echo 'zone ' . $noon->setTimezone(new DateTimeZone('Asia/Tokyo'))->format('H:i') . "\n";
echo 'random ' . (mt_rand(1, 6) <= 6 && strlen(random_bytes(16)) === 16 ? 'ok' : 'bad') . "\n";
$name = tempnam(sys_get_temp_dir(), 'test');
file_put_contents($name, 'ok');
echo 'temp ' . file_get_contents($name) . "\n";
unlink($name);
