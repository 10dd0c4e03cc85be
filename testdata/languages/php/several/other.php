<?php
function text(): string
{
    return 'from another file';
}
