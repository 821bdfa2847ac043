"""From notebooks to the site, on this machine and on a bare one."""
