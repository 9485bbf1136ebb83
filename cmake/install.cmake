# Install rules and the deb are completed in packaging/.
