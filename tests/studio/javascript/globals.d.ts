// Of vendor/uplot, which the page loads before its modules.
declare const uPlot: any;
