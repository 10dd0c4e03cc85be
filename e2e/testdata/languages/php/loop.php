<?php
for (;;) {
}
