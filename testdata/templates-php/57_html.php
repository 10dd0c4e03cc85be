Text before
<?= 1 + 1 ?>

<p>after</p>
<?php return 5;
