document.querySelectorAll("[data-script]").forEach(one => { one.hidden = false; });  // controls that need this script
headline();
sweep();
matrices();
blame();
curves();
network();
